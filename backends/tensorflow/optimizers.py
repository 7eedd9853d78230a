"""Adam and SGD from array operations: the Adam of Keras adds epsilon to the uncorrected root, and keeps float32 rates."""
