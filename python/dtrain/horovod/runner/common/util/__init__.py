"""Small functions that scripts take from Horovod's launcher."""
