//! Timestrata: the Python extension module
