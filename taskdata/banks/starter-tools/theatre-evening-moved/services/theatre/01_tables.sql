CREATE TABLE performances (
    performance integer PRIMARY KEY,
    starts timestamp NOT NULL,
    places integer NOT NULL
);
CREATE TABLE bookings (
    booking integer PRIMARY KEY,
    performance integer NOT NULL REFERENCES performances (performance),
    name text NOT NULL,
    mail text NOT NULL,
    places integer NOT NULL,
    price_each numeric(5, 2) NOT NULL,
    status text NOT NULL CHECK (status IN ('booked', 'moved', 'refunded'))
);
CREATE TABLE refunds (
    booking integer PRIMARY KEY REFERENCES bookings (booking),
    amount numeric(6, 2) NOT NULL
);
