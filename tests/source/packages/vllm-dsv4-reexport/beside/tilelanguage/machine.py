from cuda.bindings import driver


def architecture():
    (status,) = driver.cuInit(0)
    return "none" if status else "some"
