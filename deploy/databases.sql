-- The database `nightshift` is made by the image; Prefect has one of its own beside it.
CREATE DATABASE prefect;
