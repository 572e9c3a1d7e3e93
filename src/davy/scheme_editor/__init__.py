"""The editor of schemes in the browser: drafts, their forms and pages."""
