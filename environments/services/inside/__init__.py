"""Programs that run in a service's sandbox; they import no other module of this project."""
