import { type Pair, type Place, tell } from './comparison.ts';
import { childOf, childrenOf, itemsOf, type Located, textOf } from './document.ts';
import { quote } from './sentence.ts';

/** The addresses of an operation: its own, else those of its path, else those of the document. */
export function compareServers(place: Place, items: Pair, operations: Pair): void {
  const { comparison } = place;
  const had = serversOf(operations.base, items.base, comparison.base.root);
  const has = serversOf(operations.head, items.head, comparison.head.root);
  for (const [url, server] of had.servers) {
    const other = has.servers.get(url);
    if (other) compareVariables(place, url, { base: server, head: other });
    else tell(place, 'server-removed', `The server ${quote(url)} is gone.`, { base: server, head: has.around });
  }
  for (const [url, server] of has.servers) {
    if (had.servers.has(url)) continue;
    tell(place, 'server-added', `The server ${quote(url)} is new.`, { base: had.around, head: server });
  }
}

interface Servers {
  servers: Map<string, Located>;
  around: Located;
}

function serversOf(...places: Located[]): Servers {
  for (const place of places) {
    const servers = itemsOf(childOf(place, 'servers'));
    if (servers.length === 0) continue;
    const named = servers.map((server): [string, Located] => [
      (textOf(server, 'url') ?? '').replace(/(?<=.)\/$/, ''),
      server,
    ]);
    return { servers: new Map(named), around: childOf(place, 'servers') ?? place };
  }
  // Where no server is named, it is the one that the document came from (OpenAPI 3.1.1, section 4.8.1.1).
  const root = places.at(-1) as Located;
  return { servers: new Map([['/', root]]), around: root };
}

function compareVariables(place: Place, url: string, pair: Pair): void {
  const [had, has] = [pair.base, pair.head].map(server => new Map(childrenOf(childOf(server, 'variables'))));
  for (const [name, variable] of had ?? []) {
    const other = has?.get(name);
    if (other === undefined) continue;
    const variables = { base: variable, head: other };
    const [was, is] = [textOf(variable, 'default') ?? '', textOf(other, 'default') ?? ''];
    const subject = `${quote(name)} of the server ${quote(url)}`;
    if (was !== is) {
      tell(place, 'server-default-changed', `${subject} is ${quote(is)} by default, and was ${quote(was)}.`, variables);
    }
    const [values, newValues] = [valuesOf(variable), valuesOf(other)];
    if (newValues && (!values || values.some(value => !newValues.includes(value)))) {
      tell(place, 'server-removed', `${subject} takes fewer values.`, variables);
    } else if (values && (!newValues || newValues.some(value => !values.includes(value)))) {
      tell(place, 'server-added', `${subject} takes more values.`, variables);
    }
  }
}

function valuesOf(variable: Located): string[] | undefined {
  const listed = childOf(variable, 'enum');
  return listed && itemsOf(listed).map(({ value }) => String(value));
}
