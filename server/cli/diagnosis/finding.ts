/** The result of one check of the command `doctor`. A warning or an error also has a remedy. */
export interface Finding {
  level: 'ok' | 'warning' | 'error';
  what: string;
  remedy: string | null;
}

export const ok = (what: string): Finding => ({ level: 'ok', what, remedy: null });

/** Returns a warning: a problem that will become worse, or that may be intended. */
export const warning = (what: string, remedy: string): Finding => ({ level: 'warning', what, remedy });

/** Returns an error: a problem that keeps the server from working correctly. */
export const error = (what: string, remedy: string): Finding => ({ level: 'error', what, remedy });
