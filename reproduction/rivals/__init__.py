"""Novelties at constant cost that others proposed: what exact recognition is compared with, and nobody needs beside."""
