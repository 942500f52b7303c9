/** Writes client/api.md, which lists the public API of the SDK (the client package). */
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, relative, resolve } from 'node:path';
import { writeGenerated } from './generated-file.ts';

const root = resolve(import.meta.dirname, '..');

const dist = mkdtempSync(join(tmpdir(), 'idea-board-api-'));
try {
  execFileSync(process.execPath, [join(root, 'scripts/client-build.ts'), dist], { stdio: 'inherit' });
  writeGenerated('client/api.md', write(), 'client:api');
} finally {
  rmSync(dist, { recursive: true });
}

function write(): string {
  const { exports } = JSON.parse(readFileSync(join(root, 'client/package.json'), 'utf8'));
  const entries = Object.entries<{ types?: string }>(exports).filter(([, { types }]) => types);
  const sections = entries.map(([path, { types = '' }]) => {
    const declarations = surfaceOf(join(dist, relative('dist', types)));
    return `## \`@idea-board/client${path.slice(1)}\`\n\n\`\`\`ts\n${declarations.join('\n\n')}\n\`\`\`\n`;
  });
  return `# The public surface

All exported types of the package, without comments. Removing or narrowing one of them requires a new major version, and
an addition requires a minor version. Written by \`npm run client:api\`.

${sections.join('\n')}`;
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
    } else if (elsewhere?.file.startsWith(join(dist, 'client'))) {
      add(elsewhere.file, elsewhere.name);
    } else if (elsewhere && readModule(from).exported.has(name)) {
      // Only refers to the file of this declaration, because openapi.json already describes the contract.
      surface.set(name, `export { ${name} } from '${relative(dist, elsewhere.file)}';`);
    }
  }
}

function readModule(path: string): Module {
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

function addNames({ names, exported }: Module, list: string, isExport: boolean, source: string | undefined) {
  for (const item of list.split(',').map(one => one.trim().replace(/^type /, ''))) {
    if (item === '') continue;
    const [name = '', alias = name] = item.split(' as ');
    if (source) names.set(alias, { file: source.replace(/\.ts$/, '.d.ts'), name });
    if (isExport) exported.add(alias);
  }
}
