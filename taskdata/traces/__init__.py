"""What agents did, in the formats that other tools read: ATIF and OpenTelemetry."""
