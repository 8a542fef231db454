"""Models behind their providers: one client per wire format, one retry layer, prices."""
