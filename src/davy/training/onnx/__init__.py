"""Write a trained network as an ONNX graph: fused attention, integer matrices, measured ranges."""
