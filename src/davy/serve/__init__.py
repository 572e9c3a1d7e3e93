"""The web door: pages, the JSON API, accounts, jobs. `create_app(settings)` in `app.py` puts it together."""
