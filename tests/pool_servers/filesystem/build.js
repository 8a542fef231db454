import { cpSync } from "node:fs";

cpSync("source", "dist", { recursive: true });
