/** `1 call`, `2 calls`. */
export function plural(count: number, noun: string): string {
  return `${count} ${noun}${new Intl.PluralRules('en').select(count) === 'one' ? '' : 's'}`
}
