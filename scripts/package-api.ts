/**
 * Writes the file api.md of each published package, which lists the public API of the package:
 * `node scripts/package-api.ts [--check] [<folder> …]`.
 */
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { writeGenerated } from './generated-file.ts';

const root = resolve(import.meta.dirname, '..');
const omission = '{ … }';
const modules = new Map<string, Module>();

interface Manifest {
  name: string;
  private?: boolean;
  workspaces?: string[];
  exports: Record<string, string | { types: string }>;
}

const folders = process.argv.slice(2).filter(argument => argument !== '--check');
for (const folder of folders.length > 0 ? folders : (manifestOf('.').workspaces ?? [])) {
  const manifest = manifestOf(folder);
  if (!manifest.private) writeGenerated(`${folder}/api.md`, write(folder, manifest), 'packages:api');
}

function manifestOf(folder: string): Manifest {
  return JSON.parse(readFileSync(join(root, folder, 'package.json'), 'utf8'));
}

function write(folder: string, { name, exports }: Manifest): string {
  const dist = mkdtempSync(join(tmpdir(), 'idea-board-api-'));
  try {
    execFileSync(process.execPath, [join(root, 'scripts/build-package.ts'), folder, dist], { stdio: 'inherit' });
    const entries = Object.entries(exports).flatMap(([path, target]) =>
      typeof target === 'object' ? [[join(name, path), join(dist, target.types.replace('./dist', ''))] as const] : [],
    );
    const parts = entries.map(
      ([entry, file]) => `## \`${entry}\`\n\n\`\`\`ts\n${surfaceOf(file).map(shorten).join('\n\n')}\n\`\`\`\n`,
    );
    const described = './openapi.json' in exports ? ' [openapi.json](openapi.json) describes them.' : '';
    const isShort = !parts.some(part => part.includes(omission));
    const note = isShort ? '' : `In long declarations, \`${omission}\` stands for inner fields.${described}\n\n`;
    return `# The public surface

All exported types of the package, without comments. Removing or narrowing one of them requires a new major version, and
an addition requires a minor version. Written by \`npm run packages:api\`.

${note}${parts.join('\n')}`;
  } finally {
    rmSync(dist, { recursive: true });
  }
}

/** Omits the inner fields of long declarations, such as the inferred types of all Zod schemas. */
function shorten(declaration: string): string {
  if (declaration.split('\n').length <= 100) return declaration;
  return declaration.replace(/\{\n(?: {4}.*\n)+ {2}\}/g, omission);
}

/** A file of type declarations: the declarations in it, and the files that it imports names from. */
interface Module {
  declarations: Map<string, string>;
  names: Map<string, { file: string; name: string }>;
  exported: Set<string>;
}

/** Returns the exported declarations of an entry file and all declarations that they refer to, sorted by name. */
function surfaceOf(entry: string): string[] {
  const surface = new Map<string, string>();
  for (const name of readModule(entry).exported) add(entry, name);
  return [...surface].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, text]) => text);

  function add(from: string, name: string) {
    const { declarations, names } = readModule(from);
    const text = declarations.get(name);
    const elsewhere = names.get(name);
    if (text !== undefined) {
      if (surface.has(name)) return;
      surface.set(name, text);
      for (const [word] of text.matchAll(/\b[A-Za-z_]\w*\b/g)) add(from, word);
    } else if (elsewhere) {
      add(elsewhere.file, elsewhere.name);
    }
  }
}

function readModule(path: string): Module {
  const module = modules.get(path) ?? parseModule(path);
  modules.set(path, module);
  return module;
}

function parseModule(path: string): Module {
  const text = readFileSync(path, 'utf8').replace(/\/\*[\s\S]*?\*\/|^\s*\/\/.*$/gm, '');
  const module: Module = { declarations: new Map(), names: new Map(), exported: new Set() };
  // Each statement begins with an unindented line. Its other lines are indented, except for the closing brace.
  for (const statement of text.split(/\n(?=[a-z])/)) {
    const [, keyword, list, source] = /^(import|export) (?:type )?\{([^}]*)\}(?: from '(.*)')?;/.exec(statement) ?? [];
    if (list === undefined) addDeclaration(module, statement);
    else
      addNames(
        module,
        list,
        keyword === 'export',
        source?.startsWith('.') ? resolve(dirname(path), source) : undefined,
      );
  }
  return module;
}

function addDeclaration({ declarations, exported }: Module, statement: string) {
  const [, name] =
    /^(?:export )?(?:declare )?(?:abstract )?(?:class|const|function|interface|type) (\w+)/.exec(statement) ?? [];
  if (name === undefined) return;
  const lines = statement.split('\n').filter(line => line.trim() !== '' && !line.includes('#private'));
  const text = lines
    .map(line => line.replace(/^( {4})+/, indent => ' '.repeat(indent.length / 2)).trimEnd())
    .join('\n');
  declarations.set(name, [declarations.get(name), text].filter(Boolean).join('\n'));
  if (statement.startsWith('export')) exported.add(name);
}

function addNames(
  { declarations, names, exported }: Module,
  list: string,
  isExport: boolean,
  source: string | undefined,
) {
  for (const item of list.split(',').map(one => one.trim().replace(/^type /, ''))) {
    if (item === '') continue;
    const [name = '', alias = name] = item.split(' as ');
    if (source) names.set(alias, { file: source.replace(/\.ts$/, '.d.ts'), name });
    else if (alias !== name) declarations.set(alias, `export { ${item} };`);
    if (isExport) exported.add(alias);
  }
}
