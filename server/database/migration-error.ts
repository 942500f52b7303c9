/** The migrations and the database do not fit together; the message says which file and why, in one line. */
export class MigrationError extends Error {}
