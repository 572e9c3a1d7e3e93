"""Fit, pre-train, distil, calibrate and export detectors. With `detectors` the only torch."""
