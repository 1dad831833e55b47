/** What follows `SHA256:`, or all of it, without blanks. */
function bare(text: string): string {
  return text.replace(/\s+/g, '').replace(/^sha256:/i, '')
}

/** `SHA256: AbCd EfGh …`, in groups of four that can be read out. */
export function inGroups(fingerprint: string): string {
  return (bare(fingerprint).match(/.{1,4}/g) ?? []).join(' ')
}

/** Whether two people mean the same fingerprint. Its letters are base64, so their case counts. */
export function isSameFingerprint(one: string, other: string): boolean {
  return bare(one) !== '' && bare(one) === bare(other)
}
