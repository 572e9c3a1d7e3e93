"""The weights of `embedded-memes-pictures`, Davy's meme detector that looks. Data only: `davy.detectors.embedded` reads them."""
