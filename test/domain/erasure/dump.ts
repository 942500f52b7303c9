import type { TestDatabase } from '../../helpers/database.ts';

/** Returns every row of every table as text, including the tables of the job queue. */
export async function dump({ sql }: Pick<TestDatabase, 'sql'>): Promise<string[]> {
  const tables = await sql<{ name: string }>(
    `select format('%I.%I', n.nspname, c.relname) as name
    from pg_class c join pg_namespace n on n.oid = c.relnamespace
    where c.relkind in ('r', 'p') and n.nspname not in ('pg_catalog', 'information_schema')
    order by 1`,
  );
  const rows = await Promise.all(
    tables.map(({ name }) =>
      sql<{ line: string }>(`select $1 || ' ' || t::text as line from ${name} t order by 1`, [name]),
    ),
  );
  return rows.flat().map(({ line }) => line);
}

/** Returns the lines that contain a text in plain form (upper or lower case), in base64 or in hexadecimal. */
export function linesWith(lines: string[], text: string): string[] {
  const forms = [text, ...variantsOf(text)].flatMap(variant => [
    variant.toLowerCase(),
    Buffer.from(variant).toString('hex'),
    ...[0, 1, 2].map(offset => base64At(variant, offset).toLowerCase()),
  ]);
  return lines.filter(line => {
    const lower = line.toLowerCase();
    return forms.some(form => lower.includes(form));
  });
}

function variantsOf(text: string): string[] {
  return [text.toLowerCase(), text.toUpperCase(), `${text.charAt(0).toUpperCase()}${text.slice(1)}`];
}

/**
 * Returns the base64 characters of a text that begins at the given offset of a longer text. Leaves out characters that
 * also encode neighbouring bytes.
 */
function base64At(text: string, offset: number): string {
  const encoded = Buffer.from(' '.repeat(offset) + text)
    .toString('base64')
    .replaceAll('=', '');
  return encoded.slice(offset === 0 ? 0 : offset + 1, -1);
}
