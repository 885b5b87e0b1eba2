/** Tells whether a value is nested deeper than this: whatever walks it may call itself for each level. */
export function isDeeper(value: unknown, levels: number): boolean {
  if (typeof value !== 'object' || value === null) return false
  return levels === 0 || Object.values(value).some((child) => isDeeper(child, levels - 1))
}
