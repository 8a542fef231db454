CREATE TABLE stock (
    box integer PRIMARY KEY,
    species text NOT NULL,
    variety text NOT NULL,
    packets integer NOT NULL CHECK (packets >= 0)
);
CREATE TABLE loans (
    loan integer PRIMARY KEY,
    box integer NOT NULL REFERENCES stock (box),
    member text NOT NULL,
    packets integer NOT NULL,
    returned boolean NOT NULL
);
INSERT INTO stock VALUES
    (1, 'Tomato', 'Harbinger', 21),
    (2, 'Tomato', 'Golden Sunrise', 16),
    (3, 'Bean', 'Blue Lake', 30),
    (4, 'Bean', 'Cherokee', 24),
    (5, 'Lettuce', 'Marvel', 18),
    (6, 'Pea', 'Marvel', 26),
    (7, 'Beetroot', 'Bolivar', 12),
    (8, 'Kale', 'Nero', 9);
INSERT INTO loans VALUES
    (501, 1, 'Aasa', 3, true),
    (502, 3, 'Birk', 4, false),
    (503, 6, 'Cato', 2, false),
    (504, 4, 'Dagny', 5, true),
    (505, 8, 'Even', 1, false);
