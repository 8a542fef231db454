"""What models answer during construction: safe reading, the forms asked for, and drafts of them."""
