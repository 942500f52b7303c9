import { readAstuto } from './astuto.ts';
import { readCanny } from './canny.ts';
import { readPlainCsv } from './csv.ts';
import { readFider } from './fider.ts';
import type { Source } from './foreign-records.ts';
import { readGithub } from './github.ts';
import { readQuackback } from './quackback.ts';

/** The importers of files from other products, by the name of the product. */
export const sources = {
  astuto: readAstuto,
  canny: readCanny,
  csv: readPlainCsv,
  fider: readFider,
  github: readGithub,
  quackback: readQuackback,
} as const satisfies Record<string, Source>;
