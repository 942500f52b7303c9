/**
 * Writes the file api.md of each published package, which lists the public API of the package:
 * `node scripts/package-api.ts [--check] [<folder> …]`.
 */
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join, resolve } from 'node:path';
import { Extractor, ExtractorConfig } from '@microsoft/api-extractor';
import { writeGenerated } from './generated-file.ts';

const root = resolve(import.meta.dirname, '..');
const omission = '{ … }';

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
    const parts = Object.entries(exports).flatMap(([path, target]) => {
      if (typeof target === 'string') return [];
      const surface = surfaceOf(join(root, folder), join(dist, target.types.replace('./dist', '')));
      return [`## \`${join(name, path)}\`\n\n\`\`\`ts\n${surface}\n\`\`\`\n`];
    });
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

/** Returns the exported declarations of an entry file and all declarations that they refer to, sorted by name. */
function surfaceOf(packageFolder: string, entry: string): string {
  const reportFolder = mkdtempSync(join(tmpdir(), 'idea-board-api-'));
  const reportFileName = `${basename(entry, '.d.ts')}.api.md`;
  const compilerOptions = {
    module: 'nodenext',
    target: 'es2024',
    lib: ['es2024', 'dom'],
    allowImportingTsExtensions: true,
  };
  try {
    Extractor.invoke(
      ExtractorConfig.prepare({
        configObject: {
          projectFolder: packageFolder,
          mainEntryPointFilePath: entry,
          newlineKind: 'lf',
          compiler: { overrideTsconfig: { compilerOptions, files: [entry] } },
          apiReport: {
            enabled: true,
            reportFileName,
            reportFolder,
            reportTempFolder: reportFolder,
            includeForgottenExports: true,
          },
        },
        configObjectFullPath: undefined,
        packageJsonFullPath: join(packageFolder, 'package.json'),
      }),
      {
        localBuild: true,
        messageCallback: message => {
          message.handled = true;
        },
      },
    );
    const [, report = ''] = readFileSync(join(reportFolder, reportFileName), 'utf8').split(/```(?:ts)?\n/);
    const declarations = report
      .replace(/^ *\/\/ .*\n/gm, '')
      .trim()
      .split('\n\n');
    return declarations.map(shorten).join('\n\n');
  } finally {
    rmSync(reportFolder, { recursive: true });
  }
}

/** Omits the inner fields of long declarations, such as the inferred types of all Zod schemas. */
function shorten(declaration: string): string {
  if (declaration.split('\n').length <= 100) return declaration;
  return declaration.replace(/\{\n(?: {8}.*\n)+ {4}\}/g, omission);
}
