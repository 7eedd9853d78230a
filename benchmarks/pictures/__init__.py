"""The pictures of the README and of docs/, each drawn from committed JSON by a function of its own: see ../draw_pictures.py."""
