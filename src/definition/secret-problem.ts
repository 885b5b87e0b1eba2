const MIN_LENGTH = 16

/** Returns what is wrong with a secret; undefined when it can be used. The text does not repeat it. */
export function findSecretProblem(secret: string, isStandard: boolean): string | undefined {
  if (secret !== secret.trim()) return 'has white space at an end'
  if (secret.length < MIN_LENGTH) return `has fewer than ${MIN_LENGTH} characters`
  if (isStandard && !/^whsec_(?:[A-Za-z0-9+/]{4}){4,}(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/.test(secret))
    return 'must be whsec_ and Base64: echo "whsec_$(openssl rand -base64 32)" makes one'
  return undefined
}
