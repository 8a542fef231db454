"""What must not get into a bank: personal data, requests that do harm, texts that give orders."""
