/** G.711 mu-law code → 16-bit sample (14 significant bits). */
export const muLaw = (code: number): number => {
  const inverted = ~code & 0xff;
  const magnitude = ((((inverted & 0x0f) << 3) + 0x84) << ((inverted & 0x70) >> 4)) - 0x84;
  return inverted & 0x80 ? -magnitude : magnitude;
};

/** G.711 A-law code → 16-bit sample (13 significant bits). */
export const aLaw = (code: number): number => {
  const toggled = code ^ 0x55;
  const exponent = (toggled & 0x70) >> 4;
  const mantissa = ((toggled & 0x0f) << 4) + 8;
  const magnitude = exponent === 0 ? mantissa : (mantissa + 0x100) << (exponent - 1);
  return toggled & 0x80 ? magnitude : -magnitude;
};
