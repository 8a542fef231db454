"""Clients of OpenAI's formats: chat completions, responses, images and videos.

Nothing is imported here: importing the SDK takes a second, and many modules do not need it.
"""
