/** The error of a backup, a restore or a rehearsal that is not possible. The message is one line for the operator. */
export class BackupError extends Error {}
