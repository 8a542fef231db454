CREATE TABLE members (
    member integer PRIMARY KEY,
    name text NOT NULL,
    born date NOT NULL,
    sponsor boolean NOT NULL
);
CREATE TABLE instruments (
    number integer PRIMARY KEY,
    kind text NOT NULL,
    family text NOT NULL,
    state text NOT NULL CHECK (state IN ('ready', 'repair', 'retired'))
);
CREATE TABLE relabelled (
    old_number integer PRIMARY KEY,
    new_number integer NOT NULL REFERENCES instruments (number)
);
CREATE TABLE loans (
    loan integer PRIMARY KEY,
    member integer NOT NULL REFERENCES members (member),
    instrument integer NOT NULL REFERENCES instruments (number),
    taken date NOT NULL,
    due date NOT NULL,
    returned date
);
CREATE TABLE fees (
    loan integer PRIMARY KEY REFERENCES loans (loan),
    days_late integer NOT NULL,
    amount numeric(6, 2) NOT NULL CHECK (amount > 0)
);
