CREATE TABLE stock (sku text PRIMARY KEY, left_tins int NOT NULL);
CREATE TABLE sales (sku text NOT NULL REFERENCES stock, tins int NOT NULL);
INSERT INTO stock VALUES ('GREEN', 20), ('BLACK', 30);
