import shell from './shell.json' with { type: 'json' };

export const english = { shell };
