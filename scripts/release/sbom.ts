import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { findPublishedFolders } from './repository.ts';

export interface Component {
  'bom-ref': string;
  name: string;
  version: string;
  licenses?: ({ license: { id?: string; name?: string } } | { expression: string })[];
}

export interface Sbom {
  serialNumber: string;
  metadata: { timestamp: string; component: Component };
  components: Component[];
}

/**
 * Lists the production dependencies of the server and of the packages as a CycloneDX document, for all platforms. The
 * same commit always results in the same document.
 */
export function makeSbom(root: string, date: Date): Sbom {
  const directory = mkdtempSync(join(tmpdir(), 'idea-board-sbom-'));
  let output: string;
  try {
    writeProductionLock(root, directory);
    const args = ['sbom', '--sbom-format', 'cyclonedx', '--sbom-type', 'application', '--package-lock-only'];
    output = execFileSync('npm', args, {
      cwd: directory,
      encoding: 'utf8',
      maxBuffer: 64 * 1024 * 1024,
      stdio: ['ignore', 'pipe', 'pipe'],
    });
  } finally {
    rmSync(directory, { recursive: true });
  }
  const sbom: Sbom = JSON.parse(output);
  sbom.components = sbom.components.map(named);
  sbom.metadata.component = named(sbom.metadata.component);
  // Replaces the current time and the random serial number that npm has written, so that equal commits give equal
  // documents.
  sbom.metadata.timestamp = date.toISOString();
  sbom.serialNumber = '';
  const hash = createHash('sha256').update(JSON.stringify(sbom)).digest('hex');
  const parts = [hash.slice(0, 8), hash.slice(8, 12), `8${hash.slice(12, 15)}`, `a${hash.slice(15, 18)}`];
  sbom.serialNumber = `urn:uuid:${parts.join('-')}-${hash.slice(18, 30)}`;
  return sbom;
}

/**
 * Copies package.json and package-lock.json without the packages for development. The option `--omit dev` of `npm sbom`
 * would also omit a dependency of a published package if the repository itself needs it only for development.
 */
function writeProductionLock(root: string, directory: string) {
  const read = (file: string) => JSON.parse(readFileSync(join(root, file), 'utf8'));
  const workspaces = findPublishedFolders(root);
  const production = ({ devDependencies, ...manifest }: { devDependencies?: object }) => manifest;
  const lock = read('package-lock.json');
  const isKept = (path: string, { dev, link, resolved = '' }: { dev?: boolean; link?: boolean; resolved?: string }) =>
    path === '' ||
    workspaces.includes(path) ||
    (path.includes('node_modules/') && !dev && !(link && !workspaces.includes(resolved)));
  const kept = Object.entries<object>(lock.packages).filter(([path, entry]) => isKept(path, entry));
  const packages = Object.fromEntries(kept.map(([path, entry]) => [path, production(entry)]));
  packages[''] = { ...packages[''], workspaces } as object;
  const write = (file: string, value: object) => writeFileSync(join(directory, file), JSON.stringify(value));
  write('package.json', { ...production(read('package.json')), workspaces });
  write('package-lock.json', { ...lock, packages });
}

/** Names a component after its package. npm names packages of this repository after their directories. */
function named(component: Component): Component {
  return { ...component, name: component['bom-ref'].slice(0, component['bom-ref'].lastIndexOf('@')) };
}
