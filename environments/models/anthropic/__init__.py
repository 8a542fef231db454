"""Client of Anthropic's messages format.

Nothing is imported here: importing the SDK takes a second, and many modules do not need it.
"""
