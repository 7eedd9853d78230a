"""Reading bytes that may lie: sizes, types, names and pickles are checked before anything is made of them."""
