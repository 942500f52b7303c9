/** A command that cannot be carried out, for a reason of one line. */
export class CliError extends Error {}
