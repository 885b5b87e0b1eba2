/** `handlers[0].description`: a path as people write it. */
export function formatPath(path: readonly (string | number)[]): string {
  return path.reduce<string>(
    (text, key) => (typeof key === 'number' ? `${text}[${key}]` : `${text}${text && '.'}${key}`),
    '',
  )
}
