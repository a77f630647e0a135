/** An installation of the program that tells this process about each error that it creates. */
import type { SubstratError } from '../../src/errors.js'
import { Lab } from '../support/lab.js'
import { observed, sourcesWithSites } from './sites.js'

export interface Created {
  place: string
  error: SubstratError
}

const created: Created[] = []

/** The errors since the last call. */
export function takeCreated(): Created[] {
  return created.splice(0)
}

export function openObserved(): Lab {
  Object.assign(globalThis, {
    substratSite(place: string, error: SubstratError): SubstratError {
      created.push({ place, error })
      return error
    },
  })
  return Lab.open(
    new Map([...sourcesWithSites()].map(([file, { source, sites }]) => [file, observed(source, sites)])),
  )
}
