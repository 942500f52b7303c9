import { encode } from 'uqr';

export interface QrCode {
  /** The number of modules in a row, with the white border. A module is a black or white square. */
  size: number;
  /** The black modules as the path data of an SVG image. A module is one unit wide. */
  path: string;
}

/** The width of the white border in modules, which ISO 18004 requires. */
const border = 4;

export function drawQrCode(text: string): QrCode {
  const { size, data } = encode(text, { ecc: 'M', border });
  const path = data.flatMap((row, y) => row.flatMap((isBlack, x) => (isBlack ? [`M${x} ${y}h1v1h-1z`] : []))).join('');
  return { size, path };
}
