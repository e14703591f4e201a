/** A module that cannot be imported. */
throw new TypeError('thrown at import');
