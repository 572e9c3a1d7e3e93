"""What every page needs: rendering, words, forms, errors, limits. No feature is named here."""
