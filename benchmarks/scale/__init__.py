"""The measurements of `bench_scale.py`, each as a function of one size."""
