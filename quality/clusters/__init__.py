"""Failures that share a cause: one line in words for similar failures of any night.

`causes` finds the cause of one trial from its evidence, `sentences` says it in words, `grouping`
puts trials of equal causes together, and causes of near texts where a sentence encoder is there.
Pages and commands call such a group a cause; code, JSON and the filters of pages call it a cluster,
because a group may join several causes.
"""
