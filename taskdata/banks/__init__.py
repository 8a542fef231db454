"""The bundled task banks, one folder a bank, and how a folder of task folders is read."""
