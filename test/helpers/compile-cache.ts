import { tmpdir } from 'node:os';
import { join } from 'node:path';

/**
 * The directory of Node's compile cache for child processes. With this cache, child processes start faster, because
 * they do not parse the TypeScript files again.
 */
export const compileCache = join(tmpdir(), 'idea-board-test-compile-cache');
