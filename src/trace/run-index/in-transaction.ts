import type Database from 'libsql'

/**
 * Makes changes all together, or none.
 *
 * @throws Error of the work, or of the database
 */
export function inTransaction(db: Database.Database, work: () => void): void {
  db.exec('BEGIN IMMEDIATE')
  try {
    work()
    db.exec('COMMIT')
  } catch (error) {
    // A full disk has ended it already.
    if (db.inTransaction) db.exec('ROLLBACK')
    throw error
  }
}
