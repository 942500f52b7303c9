import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';

export interface Component {
  'bom-ref': string;
  name: string;
  version: string;
  licenses?: ({ license: { id?: string; name?: string } } | { expression: string })[];
  properties?: { name: string; value: string }[];
}

export interface Sbom {
  serialNumber: string;
  metadata: { timestamp: string; component: Component };
  components: Component[];
  dependencies: { ref: string }[];
}

/**
 * Lists the production dependencies of the server and of the packages as a CycloneDX document, for all platforms. The
 * same commit always results in the same document.
 */
export function makeSbom(root: string, date: Date): Sbom {
  const args = ['sbom', '--sbom-format', 'cyclonedx', '--sbom-type', 'application', '--omit', 'dev'];
  const output = execFileSync('npm', [...args, '--package-lock-only'], {
    cwd: root,
    encoding: 'utf8',
    maxBuffer: 64 * 1024 * 1024,
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  const sbom: Sbom = JSON.parse(output);
  const isPrivate = ({ properties = [] }: Component) =>
    properties.some(({ name }) => name === 'cdx:npm:package:private');
  const removed = new Set(sbom.components.filter(isPrivate).map(component => component['bom-ref']));
  sbom.components = sbom.components.filter(component => !removed.has(component['bom-ref'])).map(named);
  sbom.dependencies = sbom.dependencies.filter(({ ref }) => !removed.has(ref));
  sbom.metadata.component = named(sbom.metadata.component);
  // npm writes the current time and a random serial number.
  sbom.metadata.timestamp = date.toISOString();
  sbom.serialNumber = '';
  const hash = createHash('sha256').update(JSON.stringify(sbom)).digest('hex');
  const parts = [hash.slice(0, 8), hash.slice(8, 12), `8${hash.slice(12, 15)}`, `a${hash.slice(15, 18)}`];
  sbom.serialNumber = `urn:uuid:${parts.join('-')}-${hash.slice(18, 30)}`;
  return sbom;
}

/** Names a component after its package. npm names packages of this repository after their directories. */
function named(component: Component): Component {
  return { ...component, name: component['bom-ref'].slice(0, component['bom-ref'].lastIndexOf('@')) };
}
