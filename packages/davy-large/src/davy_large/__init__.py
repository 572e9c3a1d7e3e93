"""The weights of `embedded-en-large`, Davy's large English detector. Data only: `davy.detectors.embedded` reads them."""
